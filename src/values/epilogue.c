/* What a composite does to a . b on its way out. */
#include <math.h>
#include <string.h>

#include "values/compute.h"

static void scale(const struct matrix *product, float factor)
{
    for (size_t i = 0; i < (size_t)product->rows * product->cols; i++)
        product->data[i] *= factor;
}

/* c stretches. */
static void add(const struct matrix *product, const struct matrix *c)
{
    size_t row_step = c->rows == 1 ? 0 : c->cols, col_step = c->cols == 1 ? 0 : 1;
    for (size_t row = 0; row < product->rows; row++)
        for (size_t col = 0; col < product->cols; col++)
            product->data[row * product->cols + col] += c->data[row * row_step + col * col_step];
}

/* out = out * factor + product */
static void rescale(const struct matrix *product, const struct matrix *factor,
                    const struct matrix *out)
{
    for (size_t row = 0; row < out->rows; row++)
        for (size_t at = row * out->cols; at < (row + 1) * out->cols; at++)
            out->data[at] = out->data[at] * factor->data[row] + product->data[at];
}

/* One row of S becomes P = exp(S - m_new); m, l and the correction of the row are brought up. */
static void merge_row(float *s, size_t cols, float *m, float *l, float *corr)
{
    float m_new = compute_maximum(*m, compute_row_maximum(s, cols));
    compute_row_exp(s, cols, m_new, s);
    *corr = expf(*m - m_new);
    *l = *l * *corr + compute_row_sum(s, cols);
    *m = m_new;
}

static void merge(const struct matrix *product, const struct matrix state[3])
{
    for (size_t row = 0; row < product->rows; row++)
        merge_row(product->data + row * product->cols, product->cols, &state[0].data[row],
                  &state[1].data[row], &state[2].data[row]);
}

void compute_epilogue(const struct command *command, const struct matrix *product,
                      const struct matrix *c, const struct matrix state[3],
                      const struct matrix *out)
{
    if (command->epilogue & EPILOGUE_SCALE)
        scale(product, command->scalar);
    if (command->epilogue & EPILOGUE_ADD)
        add(product, c);
    if (command->epilogue & EPILOGUE_RESCALE) {
        rescale(product, &state[0], out);
        return;
    }
    if (command->epilogue & EPILOGUE_SOFTMAX_MERGE)
        merge(product, state);
    memcpy(out->data, product->data, (size_t)out->rows * out->cols * sizeof *out->data);
}

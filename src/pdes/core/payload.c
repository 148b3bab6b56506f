#include "pdes/core/payload.h"

#include <string.h>

#include "support/memory.h"

static uint16_t new_handle(struct lp *lp)
{
    if (lp->payloads_count == UINT16_MAX)
        error_bug("LP %u has %u payloads under way", lp->id, lp->payloads_count);
    uint32_t count = ++lp->payloads_count;
    lp->payloads = memory_resize(lp->payloads, count, sizeof *lp->payloads);
    lp->free_payloads = memory_resize(lp->free_payloads, count, sizeof *lp->free_payloads);
    lp->payloads[count - 1] = (struct payload){NULL, 0, 0};
    return (uint16_t)count;
}

uint16_t payload_new(struct lp *lp, uint32_t bytes)
{
    uint16_t handle =
        lp->free_payloads_count > 0 ? lp->free_payloads[--lp->free_payloads_count] : new_handle(lp);
    struct payload *payload = &lp->payloads[handle - 1];
    payload->bytes = bytes;
    if (bytes > payload->capacity) {
        payload->capacity = bytes;
        payload->data = memory_resize(payload->data, bytes, 1);
    }
    return handle;
}

uint16_t payload_store(struct lp *lp, const void *data, uint32_t bytes)
{
    uint16_t handle = payload_new(lp, bytes);
    memcpy(lp->payloads[handle - 1].data, data, bytes);
    return handle;
}

const void *lp_payload(const struct lp *lp, uint16_t handle, uint32_t *bytes)
{
    if (handle == 0)
        return NULL;
    const struct payload *payload = &lp->payloads[handle - 1];
    *bytes = payload->bytes;
    return payload->data;
}

void lp_drop(struct lp *lp, uint16_t handle)
{
    if (handle != 0)
        lp->free_payloads[lp->free_payloads_count++] = handle;
}

void payload_free_all(struct lp *lp)
{
    for (uint32_t i = 0; i < lp->payloads_count; i++)
        memory_free(lp->payloads[i].data);
    memory_free(lp->payloads);
    memory_free(lp->free_payloads);
}

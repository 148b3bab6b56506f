#include "pdes/transport.h"

#include <string.h>

#include "support/memory.h"

struct event *mailbox_add(struct mailbox *box)
{
    if (box->out_count == box->out_capacity) {
        box->out_capacity = box->out_capacity ? 2 * box->out_capacity : 16;
        box->out = memory_resize(box->out, box->out_capacity, sizeof *box->out);
    }
    return &box->out[box->out_count++];
}

void mailbox_reserve_in(struct mailbox *box, uint32_t count)
{
    if (count <= box->in_capacity)
        return;
    box->in_capacity = 2 * count;
    box->in = memory_resize(box->in, box->in_capacity, sizeof *box->in);
}

void mailbox_fini(struct mailbox *box)
{
    memory_free(box->out);
    memory_free(box->in);
    memset(box, 0, sizeof *box);
}

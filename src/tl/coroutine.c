#include "tl/coroutine.h"

#include <assert.h>
#include <stdint.h>
#include <ucontext.h>

#include "support/error.h"
#include "support/memory.h"
#include "tl/fiber.h"

struct coroutine {
    ucontext_t inside, outside;
    coroutine_body *body;
    void *argument;
    void *stack;
    size_t stack_bytes;
    bool ended;
    /* AddressSanitizer's view: the fake stacks of both sides, and the resumer's real one. */
    void *inside_fake, *outside_fake;
    const void *outside_stack;
    size_t outside_bytes;
};

/* makecontext() hands over ints only: a pointer travels as two halves. */
static void coroutine_main(unsigned high, unsigned low)
{
    struct coroutine *self = (struct coroutine *)(uintptr_t)((uint64_t)high << 32 | low);
    fiber_arrive(NULL, &self->outside_stack, &self->outside_bytes);
    self->body(self->argument);
    coroutine_exit(self);
}

/* Ready to run the body from its beginning. */
static void prepare(struct coroutine *self, coroutine_body *body, void *argument)
{
    self->body = body;
    self->argument = argument;
    self->ended = false;
    getcontext(&self->inside);
    self->inside.uc_stack.ss_sp = self->stack;
    self->inside.uc_stack.ss_size = self->stack_bytes;
    self->inside.uc_link = NULL; /* coroutine_main does not return */
    uint64_t address = (uintptr_t)self;
    makecontext(&self->inside, (void (*)(void))coroutine_main, 2, (unsigned)(address >> 32),
                (unsigned)address);
}

struct coroutine *coroutine_new(coroutine_body *body, void *argument, size_t stack_bytes)
{
    struct coroutine *self = memory_new(1, sizeof *self);
    self->stack = memory_stack_new(stack_bytes, &self->stack_bytes);
    prepare(self, body, argument);
    return self;
}

void coroutine_restart(struct coroutine *self, coroutine_body *body, void *argument)
{
    assert(self->ended);
    fiber_forget(self->stack, self->stack_bytes);
    self->inside_fake = NULL;
    prepare(self, body, argument);
}

size_t coroutine_memory(void)
{
    return sizeof(struct coroutine);
}

bool coroutine_resume(struct coroutine *self)
{
    assert(!self->ended);
    fiber_leave(&self->outside_fake, self->stack, self->stack_bytes);
    swapcontext(&self->outside, &self->inside);
    fiber_arrive(self->outside_fake, NULL, NULL);
    return !self->ended;
}

void coroutine_yield(struct coroutine *self)
{
    fiber_leave(&self->inside_fake, self->outside_stack, self->outside_bytes);
    swapcontext(&self->inside, &self->outside);
    fiber_arrive(self->inside_fake, &self->outside_stack, &self->outside_bytes);
}

_Noreturn void coroutine_exit(struct coroutine *self)
{
    self->ended = true;
    fiber_leave(NULL, self->outside_stack, self->outside_bytes);
    setcontext(&self->outside);
    error_bug("a coroutine that had ended was resumed");
}

void coroutine_free(struct coroutine *self)
{
    if (self == NULL)
        return;
    fiber_forget(self->stack, self->stack_bytes);
    memory_stack_free(self->stack, self->stack_bytes);
    memory_free(self);
}

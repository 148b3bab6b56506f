/* Tells AddressSanitizer of stack switches; nothing in other builds. */
#ifndef AHBM_TL_FIBER_H
#define AHBM_TL_FIBER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_SANITIZED 1
#endif
#endif

#ifdef FIBER_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* Before a switch to the stack [bottom, bottom + size); a NULL `fake` leaves the current stack for
 * good. */
static inline void fiber_leave(void **fake, const void *bottom, size_t size)
{
    __sanitizer_start_switch_fiber(fake, bottom, size);
}

/* After a switch; receives the stack that was left. */
static inline void fiber_arrive(void *fake, const void **bottom, size_t *size)
{
    __sanitizer_finish_switch_fiber(fake, bottom, size);
}

/* The frames of a stack that was never unwound are forgotten. */
static inline void fiber_forget(void *stack, size_t bytes)
{
    __asan_unpoison_memory_region(stack, bytes);
}
#else
static inline void fiber_leave(void **fake, const void *bottom, size_t size)
{
    (void)fake, (void)bottom, (void)size;
}

static inline void fiber_arrive(void *fake, const void **bottom, size_t *size)
{
    (void)fake, (void)bottom, (void)size;
}

static inline void fiber_forget(void *stack, size_t bytes)
{
    (void)stack, (void)bytes;
}
#endif

#endif

"""The C text of the thread pool that runs parallel loops.

A parallel loop is cut into chunks that the calling thread and the workers take from one counter.
The caller never waits for a worker that has not begun: on a busy machine it does the work itself.
Workers spin for a moment after a loop, for the next one often follows at once, then sleep. Only one
loop at a time is shared out; a loop that finds the pool in use (another thread of the program calls
the module too) runs on its caller.
"""

from __future__ import annotations

DECLARATION = r"""
typedef void (*r2r_task)(const void* arguments, int64_t begin, int64_t end);
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth);
"""

POOL = r"""
#if defined(_WIN32)
R2R_EXPORT void r2r_set_threads(int64_t count) { (void)count; }
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth) {
  (void)worth;
  task(arguments, 0, total);
}
#else
#include <pthread.h>
#include <sched.h>

enum { R2R_MOST_WORKERS = 63, R2R_SPINS = 4000 };
static struct {
  pthread_mutex_t use, sleep;
  pthread_cond_t wake;
  int64_t wanted, workers;
  /* The loop that is open: it is read by workers only after they have said that they are inside. */
  r2r_task task;
  const void* arguments;
  int64_t total, chunk;
  int64_t next __attribute__((aligned(64)));
  int64_t opened __attribute__((aligned(64)));
  int64_t open, inside, sleeping;
} r2r_pool = {.use = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

R2R_INLINE void r2r_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
static void r2r_take_chunks(void) {
  for (;;) {
    int64_t begin = __atomic_fetch_add(&r2r_pool.next, r2r_pool.chunk, __ATOMIC_RELAXED);
    if (begin >= r2r_pool.total) return;
    int64_t end = begin + r2r_pool.chunk;
    r2r_pool.task(r2r_pool.arguments, begin, end < r2r_pool.total ? end : r2r_pool.total);
  }
}
static void* r2r_worker(void* unused) {
  int64_t seen = 0;
  for (;;) {
    int64_t spins = 0;
    while (__atomic_load_n(&r2r_pool.opened, __ATOMIC_ACQUIRE) == seen) {
      if (++spins < R2R_SPINS) { r2r_pause(); continue; }
      pthread_mutex_lock(&r2r_pool.sleep);
      __atomic_fetch_add(&r2r_pool.sleeping, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&r2r_pool.opened, __ATOMIC_SEQ_CST) == seen)
        pthread_cond_wait(&r2r_pool.wake, &r2r_pool.sleep);
      __atomic_fetch_sub(&r2r_pool.sleeping, 1, __ATOMIC_SEQ_CST);
      pthread_mutex_unlock(&r2r_pool.sleep);
    }
    seen = __atomic_load_n(&r2r_pool.opened, __ATOMIC_ACQUIRE);
    /* Say "inside", then look whether the loop is still open; the caller closes it, then looks who is inside. */
    __atomic_fetch_add(&r2r_pool.inside, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&r2r_pool.open, __ATOMIC_SEQ_CST)) r2r_take_chunks();
    __atomic_fetch_sub(&r2r_pool.inside, 1, __ATOMIC_SEQ_CST);
  }
  return unused;
}
static void r2r_after_fork(void) {
  /* A child process has none of its parent's threads. */
  pthread_mutex_init(&r2r_pool.use, 0);
  pthread_mutex_init(&r2r_pool.sleep, 0);
  pthread_cond_init(&r2r_pool.wake, 0);
  r2r_pool.workers = r2r_pool.opened = r2r_pool.open = r2r_pool.inside = r2r_pool.sleeping = 0;
}
static void r2r_start_workers(void) {
  static int registered;
  if (!registered) { pthread_atfork(0, 0, r2r_after_fork); registered = 1; }
  while (r2r_pool.workers < r2r_pool.wanted) {
    pthread_t thread;
    if (pthread_create(&thread, 0, r2r_worker, 0)) { r2r_pool.wanted = r2r_pool.workers; return; }
    pthread_detach(thread);
    ++r2r_pool.workers;
  }
}
R2R_EXPORT void r2r_set_threads(int64_t count) {
  r2r_pool.wanted = count < 1 ? 0 : count - 1 > R2R_MOST_WORKERS ? R2R_MOST_WORKERS : count - 1;
}
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth) {
  if (!worth || total < 2 || r2r_pool.wanted < 1 || pthread_mutex_trylock(&r2r_pool.use)) {
    task(arguments, 0, total);
    return;
  }
  r2r_start_workers();
  int64_t pieces = (r2r_pool.workers + 1) * 4;
  r2r_pool.task = task;
  r2r_pool.arguments = arguments;
  r2r_pool.total = total;
  r2r_pool.chunk = (total + pieces - 1) / pieces;
  __atomic_store_n(&r2r_pool.next, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&r2r_pool.open, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&r2r_pool.opened, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&r2r_pool.sleeping, __ATOMIC_SEQ_CST)) {
    pthread_mutex_lock(&r2r_pool.sleep);
    pthread_cond_broadcast(&r2r_pool.wake);
    pthread_mutex_unlock(&r2r_pool.sleep);
  }
  r2r_take_chunks();
  __atomic_store_n(&r2r_pool.open, 0, __ATOMIC_SEQ_CST);
  for (int64_t spins = 0; __atomic_load_n(&r2r_pool.inside, __ATOMIC_SEQ_CST); ++spins) {
    if (spins < R2R_SPINS) r2r_pause(); else sched_yield();
  }
  pthread_mutex_unlock(&r2r_pool.use);
}
#endif
"""

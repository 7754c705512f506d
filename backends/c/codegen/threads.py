"""The C text of the thread pool that runs parallel loops.

Every thread has an equal stretch of a parallel loop of its own, which it takes chunk by chunk: what
one loop leaves in a core's cache, the next one finds there. Who is done takes chunks of the others'
stretches. So the caller never waits for a worker that has not begun: on a busy machine it does the
work itself.
Workers spin for a moment after a loop, for the next one often follows at once, then sleep. Only one
loop at a time is shared out; a loop that finds the pool in use (by another thread of the program)
runs on its caller.

An exported library has a pool of its own. Objects that are loaded into Python share one, which is
an object by itself: they are handed its function when they are loaded, and can be unloaded, for no
worker runs their code behind the end of a loop.
"""

from __future__ import annotations

DECLARATION = r"""
typedef void (*r2r_task)(const void* arguments, int64_t begin, int64_t end);
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth, int64_t* wrong);
"""
# What an entry returns that was told to end.
STOPPED = -0x7FFFFFFFFFFFFFFF
# For kernels that ask.
ASKING = "/* Whether the call that wrong belongs to is to end. */\nint r2r_ended(int64_t* wrong);\n"

_POOL = r"""
/* The loop runs on at most so many threads, its caller among them. Where the caller waits for others, it asks whether
   the call that wrong belongs to is to end, which they see. */
#if defined(_WIN32) || defined(__wasm__)
R2R_SHARED void r2r_share(r2r_task task, const void* arguments, int64_t total, int64_t threads,
                          int (*ended)(int64_t*), int64_t* wrong) {
  (void)threads;
  (void)ended;
  (void)wrong;
  task(arguments, 0, total);
}
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum { R2R_MOST_WORKERS = 63, R2R_SPINS = 4000, R2R_CHUNKS = 8 };
/* What is left of a thread's stretch of the loop, in a line of the cache of its own. */
struct r2r_stretch { int64_t next __attribute__((aligned(64))), end; };
static struct {
  pthread_mutex_t use, sleep;
  pthread_cond_t wake;
  int64_t workers, most;
  /* The loop that is open: it is read by workers only after they have said that they are inside. */
  r2r_task task;
  const void* arguments;
  int64_t chunk, helpers;
  struct r2r_stretch stretches[R2R_MOST_WORKERS + 1];
  int64_t opened __attribute__((aligned(64)));
  int64_t open, inside, sleeping;
} r2r_pool = {.use = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
              .most = R2R_MOST_WORKERS};

R2R_INLINE void r2r_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
/* All of the own stretch, then what others have left of theirs. */
static void r2r_take_chunks(int64_t own) {
  for (int64_t turn = 0; turn <= r2r_pool.helpers; ++turn) {
    struct r2r_stretch* const s = &r2r_pool.stretches[(own + turn) % (r2r_pool.helpers + 1)];
    for (;;) {
      const int64_t begin = __atomic_fetch_add(&s->next, r2r_pool.chunk, __ATOMIC_RELAXED);
      if (begin >= s->end) break;
      const int64_t end = begin + r2r_pool.chunk;
      r2r_pool.task(r2r_pool.arguments, begin, end < s->end ? end : s->end);
    }
  }
}
static void* r2r_worker(void* number) {
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
    if (__atomic_load_n(&r2r_pool.open, __ATOMIC_SEQ_CST) && (int64_t)(size_t)number < r2r_pool.helpers)
      r2r_take_chunks((int64_t)(size_t)number + 1);
    __atomic_fetch_sub(&r2r_pool.inside, 1, __ATOMIC_SEQ_CST);
  }
  return 0;
}
static void r2r_after_fork(void) {
  /* A child process has none of its parent's threads. */
  pthread_mutex_init(&r2r_pool.use, 0);
  pthread_mutex_init(&r2r_pool.sleep, 0);
  pthread_cond_init(&r2r_pool.wake, 0);
  r2r_pool.workers = r2r_pool.opened = r2r_pool.open = r2r_pool.inside = r2r_pool.sleeping = 0;
}
static void r2r_start_workers(int64_t wanted) {
  static int registered;
  if (!registered) { pthread_atfork(0, 0, r2r_after_fork); registered = 1; }
  /* Signals are for the program's own threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (r2r_pool.workers < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, 0, r2r_worker, (void*)(size_t)r2r_pool.workers)) {
      r2r_pool.most = r2r_pool.workers;
      break;
    }
    pthread_detach(thread);
    ++r2r_pool.workers;
  }
  pthread_sigmask(SIG_SETMASK, &before, 0);
}
R2R_SHARED void r2r_share(r2r_task task, const void* arguments, int64_t total, int64_t threads,
                          int (*ended)(int64_t*), int64_t* wrong) {
  int64_t helpers = threads - 1 < r2r_pool.most ? threads - 1 : r2r_pool.most;
  if (helpers < 1 || pthread_mutex_trylock(&r2r_pool.use)) {
    task(arguments, 0, total);
    return;
  }
  if (r2r_pool.workers < helpers) r2r_start_workers(helpers);
  if (helpers > total - 1) helpers = total - 1;
  const int64_t share = total / (helpers + 1), left = total % (helpers + 1);
  r2r_pool.task = task;
  r2r_pool.arguments = arguments;
  r2r_pool.helpers = helpers;
  r2r_pool.chunk = (share + R2R_CHUNKS - 1) / R2R_CHUNKS;
  for (int64_t t = 0, begin = 0; t <= helpers; ++t) {
    const int64_t end = begin + share + (t < left);
    __atomic_store_n(&r2r_pool.stretches[t].next, begin, __ATOMIC_RELAXED);
    begin = r2r_pool.stretches[t].end = end;
  }
  __atomic_store_n(&r2r_pool.open, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&r2r_pool.opened, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&r2r_pool.sleeping, __ATOMIC_SEQ_CST)) {
    pthread_mutex_lock(&r2r_pool.sleep);
    pthread_cond_broadcast(&r2r_pool.wake);
    pthread_mutex_unlock(&r2r_pool.sleep);
  }
  r2r_take_chunks(0);
  __atomic_store_n(&r2r_pool.open, 0, __ATOMIC_SEQ_CST);
  for (int64_t spins = 0; __atomic_load_n(&r2r_pool.inside, __ATOMIC_SEQ_CST); ++spins) {
    if (spins < R2R_SPINS) { r2r_pause(); continue; }
    sched_yield();
    if (ended && wrong) ended(wrong);
  }
  pthread_mutex_unlock(&r2r_pool.use);
}
#endif
"""

_PARALLEL = r"""
static int64_t r2r_threads;
void r2r_parallel(r2r_task task, const void* arguments, int64_t total, int worth, int64_t* wrong) {
  if (!worth || total < 2 || r2r_threads < 2) task(arguments, 0, total);
  else r2r_share(task, arguments, total, r2r_threads, @, wrong);
}
"""

# In the last file of an exported library.
POOL = (
    "\n#define R2R_SHARED static"
    + _POOL
    + _PARALLEL.replace("@", "0")
    + r"""R2R_EXPORT void r2r_set_threads(int64_t count) { r2r_threads = count; }
"""
)

# In the last file of what is loaded into Python and has parallel loops.
_SHARE = r"""
#if !defined(R2R_ENDED)
#define R2R_ENDED 0
#endif
static void (*r2r_share)(r2r_task task, const void* arguments, int64_t total, int64_t threads,
                         int (*ended)(int64_t*), int64_t* wrong);"""
_USE_POOL = r"""R2R_EXPORT void r2r_use_pool(void* share, int64_t threads) {
  *(void**)&r2r_share = share;
  r2r_threads = threads;
}
"""
LOADED = _SHARE + _PARALLEL.replace("@", "R2R_ENDED") + _USE_POOL

# In the last file of what is loaded into Python and has kernels that ask. Only the thread that
# called does, twenty times a second: wrong[4] says which that is, wrong[5] when it last did. What
# kernels see is wrong[0].
ENDED = r"""
#define R2R_ENDED r2r_ended
static int (*r2r_ask)(void);
R2R_EXPORT void r2r_use_ask(void* ask) { *(void**)&r2r_ask = ask; }
int r2r_ended(int64_t* wrong) {
  if (__atomic_load_n(wrong, __ATOMIC_RELAXED)) return 1;
  if (!r2r_ask || wrong[4] != (int64_t)(size_t)&r2r_last) return 0;
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  const int64_t now = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000, since = now - wrong[5];
  if (wrong[5] && since >= 0 && since < 50) return 0;
  const int first = !wrong[5];
  wrong[5] = now;
  if (first || !r2r_ask()) return 0;
  int64_t none = 0;
  __atomic_compare_exchange_n(wrong, &none, -1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return 1;
}
"""

# What asks Python, whose functions r2r_use_python is given: whether the limits are reached, and, in
# the main thread, what handlers of signals say. What that raises waits for r2r_raise.
_QUESTION = r"""
#include <string.h>
static struct {
  int (*ensure)(void);
  void (*release)(int);
  void* (*call)(void*);
  void (*drop)(void*);
  void (*fetch)(void**, void**, void**);
  void (*restore)(void*, void*, void*);
  void* question;
} r2r_python;
static _Thread_local void* r2r_raised[3];
R2R_SHARED void r2r_use_python(const void* functions) { memcpy(&r2r_python, functions, sizeof r2r_python); }
R2R_SHARED int r2r_ask(void) {
  const int state = r2r_python.ensure();
  void* const answer = r2r_python.call(r2r_python.question);
  if (answer) r2r_python.drop(answer);
  else r2r_python.fetch(r2r_raised, r2r_raised + 1, r2r_raised + 2);
  r2r_python.release(state);
  return !answer;
}
R2R_SHARED void r2r_raise(void) { r2r_python.restore(r2r_raised[0], r2r_raised[1], r2r_raised[2]); }
"""

# All of the object that a process has once: the pool, and what asks Python.
PROCESS = (
    r"""#include <stddef.h>
#include <stdint.h>
#define R2R_INLINE static inline
#if defined(_WIN32)
#define R2R_SHARED __declspec(dllexport)
#else
#define R2R_SHARED __attribute__((visibility("default")))
#endif
typedef void (*r2r_task)(const void* arguments, int64_t begin, int64_t end);
"""
    + _POOL
    + _QUESTION
)

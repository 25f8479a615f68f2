// Simulates a system that cannot create threads: preloaded into a program, it
// makes every pthread_create fail.

#include <errno.h>
#include <pthread.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *data) {
  (void)thread, (void)attributes, (void)start, (void)data;
  return EAGAIN;
}

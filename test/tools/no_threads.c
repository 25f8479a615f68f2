// A system without a thread to give: preloaded into a program, every
// pthread_create of it fails.

#include <errno.h>
#include <pthread.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *data) {
  (void)thread, (void)attributes, (void)start, (void)data;
  return EAGAIN;
}

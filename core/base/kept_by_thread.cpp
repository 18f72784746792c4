#include "core/base/kept_by_thread.h"

#include <pthread.h>

#include <utility>

namespace emplace {
namespace {

constinit thread_local ThreadEndCall* t_last = nullptr;

void call_all(void*) {
  while (t_last) {
    ThreadEndCall& last = *std::exchange(t_last, t_last->next);
    last.call(last);
  }
}

// One of a process's first keys: their values lie in the thread itself.
pthread_key_t key() {
  static const pthread_key_t made = [] {
    pthread_key_t k{};
    pthread_key_create(&k, call_all);
    return k;
  }();
  return made;
}
const pthread_key_t kMadeAtStart = key();

}  // namespace

void at_thread_end(ThreadEndCall& last) noexcept {
  if (!t_last) pthread_setspecific(key(), &last);
  last.next = std::exchange(t_last, &last);
}

}  // namespace emplace

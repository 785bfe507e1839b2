#include "scheduler/stack/nudge.h"

#include <csignal>
#include <mutex>

namespace sluice {

void allow_nudges() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction current {};
    if (sigaction(SIGURG, nullptr, &current) != 0) return;
    // The default is to ignore it: nobody minds.
    if (current.sa_handler != SIG_DFL && current.sa_handler != SIG_IGN) return;
    struct sigaction quiet {};
    quiet.sa_handler = [](int) {};
    sigemptyset(&quiet.sa_mask);
    sigaction(SIGURG, &quiet, nullptr);
  });
}

void nudge(pthread_t thread) noexcept { pthread_kill(thread, SIGURG); }

}  // namespace sluice

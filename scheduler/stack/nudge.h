// Nudge: ends a system call in which another thread of ours blocks.
#pragma once

#include <pthread.h>

namespace sluice {

/// Once per process, before nudge(). Installs a handler that does nothing for SIGURG, without
/// SA_RESTART, unless the program handles that signal itself (nudges then do nothing).
void allow_nudges();

/// The thread's blocking call ends with EINTR. One that is just about to block isn't reached: nudge
/// again until it has reacted. Requires that the thread lives.
void nudge(pthread_t thread) noexcept;

}  // namespace sluice

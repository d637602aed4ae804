// SPDX-License-Identifier: GPL-2.0-only
#include "posix.h"

#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>

namespace ai0::npu {

void event_raise(int fd)
{
    const std::uint64_t one = 1;

    [[maybe_unused]] ssize_t n = ::write(fd, &one, sizeof(one));
}

/*
 * Whether such a descriptor blocks is decided by whoever set it last, and QEMU
 * sets the ones it shares: so ask before reading.
 */
bool event_take(int fd)
{
    pollfd ready = {fd, POLLIN, 0};
    std::uint64_t count = 0;

    if (::poll(&ready, 1, 0) != 1 || !(ready.revents & POLLIN))
        return false;
    return ::read(fd, &count, sizeof(count)) == sizeof(count);
}

UniqueFd event_make()
{
    return UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

std::string errno_text(int error)
{
    return std::generic_category().message(error);
}

} // namespace ai0::npu

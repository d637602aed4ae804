// SPDX-License-Identifier: GPL-2.0-only
#include "log.h"

#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace ai0::npu {

namespace {

int log_fd = -1;
std::string log_who = "slot";

} // namespace

bool log_open(const std::string& path)
{
    log_fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return log_fd >= 0;
}

void log_name(std::string_view who)
{
    log_who = who;
}

void log_line(std::string_view text)
{
    timespec now{};
    char stamp[64];

    if (log_fd < 0)
        return;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    std::snprintf(stamp, sizeof(stamp), "[%lld.%06ld] ", static_cast<long long>(now.tv_sec),
                  now.tv_nsec / 1000);

    std::string line = stamp + log_who + ": ";
    line += text;
    line += '\n';
    [[maybe_unused]] ssize_t n = ::write(log_fd, line.data(), line.size());
}

} // namespace ai0::npu

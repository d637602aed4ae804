/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as the kernel takes them: nanoseconds of CLOCK_MONOTONIC. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <ai/types.h>

namespace ai::detail {

inline std::int64_t to_kernel_time(Clock::time_point when)
{
    std::int64_t ns = std::chrono::duration_cast<Nanoseconds>(when.time_since_epoch()).count();

    /* 0 means none to the kernel; what has passed has passed at 1, too. */
    return std::max<std::int64_t>(ns, 1);
}

/* A time from now on; 0 stays 0, which means none. */
inline std::int64_t to_kernel_timeout(Nanoseconds timeout)
{
    if (timeout == Nanoseconds(0))
        return 0;

    std::int64_t now = to_kernel_time(Clock::now());
    std::int64_t end = 0;
    if (__builtin_add_overflow(now, timeout.count(), &end))
        return std::numeric_limits<std::int64_t>::max();
    return std::max<std::int64_t>(end, 1);
}

} // namespace ai::detail

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstdint>

namespace ai0::npu {

/* Nanoseconds of CLOCK_MONOTONIC. */
inline std::uint64_t now_ns()
{
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

} // namespace ai0::npu

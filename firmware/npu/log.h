/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The firmware's log, a ring of text in BAR2 that the driver shows in debugfs.
 * A line is a text with numbers in between: log("queue ", 1, ": bad index ", hex(x)).
 */
#pragma once

#include "mmio.h"

namespace npu {

struct hex {
    explicit hex(u64 v) : value(v) {}
    u64 value;
};

class Log {
public:
    static void begin();
    static void put(const char* text);
    static void put(u64 value);
    static void put(hex value);
    static void put(u32 value) { put(static_cast<u64>(value)); }
    static void put(int value) { put(static_cast<u64>(value)); }
    static void end();

private:
    static void byte(char c);
};

template <typename... Parts> void log(Parts... parts)
{
    Log::begin();
    (Log::put(parts), ...);
    Log::end();
}

} // namespace npu

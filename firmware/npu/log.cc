// SPDX-License-Identifier: GPL-2.0-only
#include "log.h"

namespace npu {

namespace {

constexpr u32 kCapacity = NPU_CORE_LOG_BYTES - sizeof(npu_log);

volatile npu_log* window()
{
    return reinterpret_cast<volatile npu_log*>(static_cast<unsigned long>(NPU_CORE_LOG));
}

/*
 * Kept here, because the window can be written by the driver too: an index
 * taken from there could lead anywhere.
 */
u32 head;

} // namespace

void Log::byte(char c)
{
    window()->text[head % kCapacity] = c;
    head++;
}

void Log::put(const char* text)
{
    while (*text)
        byte(*text++);
}

void Log::put(u64 value)
{
    char digits[20];
    u32 n = 0;

    do {
        digits[n++] = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value);
    while (n)
        byte(digits[--n]);
}

void Log::put(hex value)
{
    put("0x");
    bool significant = false;

    for (int shift = 60; shift >= 0; shift -= 4) {
        u32 digit = value.value >> shift & 15;

        significant = significant || digit || !shift;
        if (significant)
            byte("0123456789abcdef"[digit]);
    }
}

/* [seconds.milliseconds] */
void Log::begin()
{
    u32 ms = reg_read(NPU_SYS_TIME_LO);
    u32 rest = ms % 1000;

    byte('[');
    put(ms / 1000);
    byte('.');
    byte(static_cast<char>('0' + rest / 100));
    byte(static_cast<char>('0' + rest / 10 % 10));
    byte(static_cast<char>('0' + rest % 10));
    put("] ");
}

/* A reader sees whole lines only: the index moves last. */
void Log::end()
{
    byte('\n');
    window()->capacity = kCapacity;
    asm volatile("fence w, w" : : : "memory");
    window()->head = head;
}

} // namespace npu

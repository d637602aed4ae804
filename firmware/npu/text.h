/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sentence put together in a fixed buffer, cut to fit.
 */
#pragma once

#include "mmio.h"

namespace npu {

class Text {
public:
    template <u32 size> explicit Text(char (&buffer)[size]) : at_(buffer), left_(size - 1)
    {
        *at_ = '\0';
    }

    Text& operator<<(const char* text)
    {
        while (*text && left_) {
            *at_++ = *text++;
            left_--;
        }
        *at_ = '\0';
        return *this;
    }

    Text& operator<<(u32 value)
    {
        char digits[11];
        u32 n = sizeof(digits) - 1;

        digits[n] = '\0';
        do {
            digits[--n] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value);
        return *this << &digits[n];
    }

    Text& operator<<(int value) { return *this << static_cast<u32>(value); }

private:
    char* at_;
    u32 left_;
};

} // namespace npu

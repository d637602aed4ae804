/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities and names, each a type of its own so that none is taken for another. */
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace ai {

/*
 * Names a page of memory: [class:2][number:6][page:56]. It stays the same while the
 * page moves. uapi/ai.h explains it.
 */
enum class LogicalAddress : std::uint64_t {};

/* Number of a device: class << 6 | number. */
enum class DeviceId : std::uint32_t {};

/* The system itself, home of system memory; it runs no models. */
inline constexpr DeviceId kSystem{0};
/* Let the kernel choose. */
inline constexpr DeviceId kAnyDevice{0xffffffff};

using Nanoseconds = std::chrono::nanoseconds;

/* The clock of deadlines: CLOCK_MONOTONIC, as in the kernel. */
using Clock = std::chrono::steady_clock;

/* An amount of memory. */
class Bytes {
public:
    constexpr Bytes() = default;
    constexpr explicit Bytes(std::uint64_t count) : count_(count) {}

    constexpr std::uint64_t count() const { return count_; }

    constexpr Bytes& operator+=(Bytes other)
    {
        count_ += other.count_;
        return *this;
    }
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
    friend constexpr auto operator<=>(Bytes, Bytes) = default;

private:
    std::uint64_t count_ = 0;
};

namespace detail {

/* Called only where it must not be: a literal that does not fit. */
void literal_is_too_large();

consteval std::uint64_t scaled(unsigned long long n, std::uint64_t scale,
                               std::uint64_t most = UINT64_MAX)
{
    if (n > most / scale)
        literal_is_too_large();
    return n * scale;
}

} // namespace detail

/* A literal too large for its type does not compile; each takes a whole number. */
inline namespace literals {

consteval Bytes operator""_B(unsigned long long n)
{
    return Bytes(n);
}
consteval Bytes operator""_KiB(unsigned long long n)
{
    return Bytes(detail::scaled(n, 1ULL << 10));
}
consteval Bytes operator""_MiB(unsigned long long n)
{
    return Bytes(detail::scaled(n, 1ULL << 20));
}
consteval Bytes operator""_GiB(unsigned long long n)
{
    return Bytes(detail::scaled(n, 1ULL << 30));
}

} // namespace literals

} // namespace ai

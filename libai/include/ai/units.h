/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What contracts count in: energy, power, data a second, shares, rates. Times are in
 * std::chrono.
 */
#pragma once

#include <compare>
#include <cstdint>

#include <ai/types.h>

namespace ai {

/* A quantity in one unit, a type of its own for each @Tag. */
template <typename Tag> class Quantity {
public:
    constexpr Quantity() = default;
    constexpr explicit Quantity(std::uint64_t count) : count_(count) {}

    constexpr std::uint64_t count() const { return count_; }
    constexpr bool is_zero() const { return count_ == 0; }

    friend constexpr auto operator<=>(Quantity, Quantity) = default;

private:
    std::uint64_t count_ = 0;
};

/* Energy, in microjoules. */
using Energy = Quantity<struct EnergyTag>;
/* Power, in milliwatts. */
using Power = Quantity<struct PowerTag>;
/* Data a second, in bytes. */
using Bandwidth = Quantity<struct BandwidthTag>;
/* A part of a device's time, in millionths. */
using Share = Quantity<struct ShareTag>;

/* Requests a second, in thousandths of one. */
using Rate = Quantity<struct RateTag>;

/*
 * Mean time between requests that come at a rate: rounded down, so that the rate is not
 * less, but not to below 1 ns. Of rate 0 it is 0, which asks for nothing.
 */
constexpr Nanoseconds period_of(Rate rate)
{
    constexpr std::uint64_t kOneMillihertz = 1000000000000; /* its period in ns */

    if (rate.is_zero())
        return Nanoseconds(0);
    return Nanoseconds(rate.count() < kOneMillihertz ? kOneMillihertz / rate.count() : 1);
}

/* A literal too large for its type does not compile; each takes a whole number. */
inline namespace literals {

consteval Energy operator""_uJ(unsigned long long n)
{
    return Energy(n);
}
consteval Energy operator""_mJ(unsigned long long n)
{
    return Energy(detail::scaled(n, 1000));
}
consteval Energy operator""_J(unsigned long long n)
{
    return Energy(detail::scaled(n, 1000000));
}
consteval Power operator""_mW(unsigned long long n)
{
    return Power(n);
}
consteval Power operator""_W(unsigned long long n)
{
    return Power(detail::scaled(n, 1000));
}
consteval Bandwidth operator""_MBps(unsigned long long n)
{
    return Bandwidth(detail::scaled(n, 1000000));
}
consteval Bandwidth operator""_GBps(unsigned long long n)
{
    return Bandwidth(detail::scaled(n, 1000000000));
}
/* At most 100. */
consteval Share operator""_percent(unsigned long long n)
{
    return Share(detail::scaled(n, 10000, 1000000));
}
consteval Rate operator""_mHz(unsigned long long n)
{
    return Rate(n);
}
consteval Rate operator""_Hz(unsigned long long n)
{
    return Rate(detail::scaled(n, 1000));
}
consteval Rate operator""_kHz(unsigned long long n)
{
    return Rate(detail::scaled(n, 1000000));
}

} // namespace literals

} // namespace ai

/* SPDX-License-Identifier: Apache-2.0 */
/* What contracts count in: energy, power, data a second, shares. Times are in std::chrono. */
#pragma once

#include <compare>
#include <cstdint>

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

namespace detail {

/* Called only where it must not be: a literal that does not fit. */
void literal_is_too_large();

consteval std::uint64_t scaled(unsigned long long n, std::uint64_t scale)
{
    if (n > UINT64_MAX / scale)
        literal_is_too_large();
    return n * scale;
}

} // namespace detail

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
consteval Share operator""_percent(unsigned long long n)
{
    return Share(detail::scaled(n, 10000));
}

} // namespace literals

} // namespace ai

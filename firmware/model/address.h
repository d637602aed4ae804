/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds of addresses that must not be mixed up.
 */
#pragma once

#include <cstdint>

namespace ai0::npu {

/* Guest physical address, as it appears on the bus. */
enum class BusAddress : std::uint64_t {};

/* Address in one of the device's address spaces, translated by the MMU. */
enum class DeviceAddress : std::uint64_t {};

constexpr std::uint64_t raw(BusAddress address)
{
    return static_cast<std::uint64_t>(address);
}

constexpr std::uint64_t raw(DeviceAddress address)
{
    return static_cast<std::uint64_t>(address);
}

constexpr BusAddress operator+(BusAddress address, std::uint64_t bytes)
{
    return BusAddress{raw(address) + bytes};
}

constexpr DeviceAddress operator+(DeviceAddress address, std::uint64_t bytes)
{
    return DeviceAddress{raw(address) + bytes};
}

inline constexpr std::uint64_t kPageShift = 12;
inline constexpr std::uint64_t kPageBytes = 1ULL << kPageShift;

} // namespace ai0::npu

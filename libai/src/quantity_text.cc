/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities for people: three digits that matter and the unit that suits them. */
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include <ai/terms.h>

namespace ai {

namespace {

struct Unit {
    double size;
    const char* name;
};

/* @units from the smallest on. */
std::string scaled(double value, std::span<const Unit> units)
{
    std::size_t i = 0;
    while (i + 1 < units.size() && std::abs(value) >= units[i + 1].size)
        i++;
    const double shown = value / units[i].size;
    const double size = std::abs(shown);
    std::array<char, 64> text;
    int digits = size >= 99.95 || shown == std::floor(shown) ? 0 : size >= 9.995 ? 1 : 2;
    std::snprintf(text.data(), text.size(), "%.*f %s", digits, shown, units[i].name);
    return text.data();
}

constexpr std::array kTimes{Unit{1, "ns"},  Unit{1e3, "us"},   Unit{1e6, "ms"},
                            Unit{1e9, "s"}, Unit{60e9, "min"}, Unit{3600e9, "h"}};
constexpr std::array kEnergies{Unit{1, "uJ"}, Unit{1e3, "mJ"}, Unit{1e6, "J"}, Unit{1e9, "kJ"}};
constexpr std::array kPowers{Unit{1, "mW"}, Unit{1e3, "W"}, Unit{1e6, "kW"}};
constexpr std::array kBandwidths{Unit{1, "B/s"}, Unit{1e3, "kB/s"}, Unit{1e6, "MB/s"},
                                 Unit{1e9, "GB/s"}};
constexpr std::array kSizes{Unit{1, "B"}, Unit{1 << 10, "KiB"}, Unit{1 << 20, "MiB"},
                            Unit{1 << 30, "GiB"}};

} // namespace

std::string to_string(Nanoseconds time)
{
    return scaled(static_cast<double>(time.count()), kTimes);
}

std::string to_string(Energy energy)
{
    return scaled(static_cast<double>(energy.count()), kEnergies);
}

std::string to_string(Power power)
{
    return scaled(static_cast<double>(power.count()), kPowers);
}

std::string to_string(Bandwidth bandwidth)
{
    return scaled(static_cast<double>(bandwidth.count()), kBandwidths);
}

std::string to_string(Share share)
{
    return scaled(static_cast<double>(share.count()) / 1e4, std::array{Unit{1, "%"}});
}

std::string to_string(Bytes bytes)
{
    return scaled(static_cast<double>(bytes.count()), kSizes);
}

} // namespace ai

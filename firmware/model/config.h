/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the device is (its profile) and what the command line says.
 */
#pragma once

#include <cstdint>
#include <string>

#include "npu_mmio.h"

namespace ai0::npu {

/* Constants of a kind of board. Power and heat are those of such boards, not measured. */
struct Profile {
    npu_profile id;
    const char* name;
    const char* product;
    std::int32_t throttle_mc;
    std::int32_t hysteresis_mc; /* how far it cools down before clocks rise again */
    std::uint32_t power_limit_mw;
    std::uint32_t idle_mw;
    std::uint32_t busy_mw; /* at full clock, idle power included */
    std::uint32_t clock_mhz;
    std::uint32_t clock_throttled_mhz;
    double kelvin_per_watt;  /* junction to ambient */
    double joule_per_kelvin; /* heat capacity of the board */
    unsigned engines;
    unsigned threads;
    std::uint64_t bar_bytes;
};

const Profile* find_profile(const std::string& name);

struct Config {
    const Profile* profile = nullptr;
    std::string socket_path;
    std::string control_path;
    std::string ram_path;
    std::uint64_t ram_bytes = 0;
    std::uint64_t ram_lowmem = 0; /* bytes below 4 GiB; the rest is above */
    std::string cache_dir;
    std::string key_path;
    std::string log_path;
    double ambient_c = 25;
    std::uint64_t bar_bytes = 0;
};

/* Exits with a sentence when the command line is wrong. */
Config parse_command_line(int argc, char** argv);

} // namespace ai0::npu

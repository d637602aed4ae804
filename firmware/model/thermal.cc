// SPDX-License-Identifier: GPL-2.0-only
#include "thermal.h"

#include <algorithm>
#include <cmath>

#include "clock.h"

namespace ai0::npu {

namespace {

/* Temperature after @seconds of constant power: the exact solution, so any step will do. */
double after(const Profile& profile, double temp, double ambient, double watts, double seconds)
{
    double steady = ambient + watts * profile.kelvin_per_watt;
    double tau = profile.kelvin_per_watt * profile.joule_per_kelvin;

    return steady + (temp - steady) * std::exp(-seconds / tau);
}

double advance(const Profile& profile, Board& board, double watts, double seconds)
{
    std::int32_t set = board.set_temp_mc.exchange(Board::kNoTemperature);
    double temp = set != Board::kNoTemperature
                      ? set / 1000.0
                      : after(profile, board.temp_c, board.ambient_mc / 1000.0, watts, seconds);

    board.temp_c = temp;
    return temp;
}

double seconds_since_last(Board& board)
{
    std::uint64_t now = now_ns();
    std::uint64_t last = board.heat_time_ns.exchange(now);

    return last && last < now ? static_cast<double>(now - last) / 1e9 : 0;
}

} // namespace

void cool_down(const Profile& profile, Board& board)
{
    advance(profile, board, 0, seconds_since_last(board));
}

Thermal::Thermal(const Profile& profile, const Bar2& bar, Board& board)
    : profile_(profile), bar_(bar), board_(board)
{
    cool_down(profile, board);
    bar_.set(&npu_regs::temp_throttle_mc, profile.throttle_mc);
    bar_.set(&npu_regs::power_limit_mw, profile.power_limit_mw);
    bar_.set(&npu_regs::clock_max_mhz, profile.clock_mhz);
    update(0);
}

double Thermal::stretch() const
{
    return throttled() ? static_cast<double>(profile_.clock_mhz) / profile_.clock_throttled_mhz : 1;
}

/* At half the clock the voltage is lower too, so the power falls faster than the clock. */
double Thermal::engine_watts() const
{
    double full = (profile_.busy_mw - profile_.idle_mw) / 1000.0 / profile_.engines;

    return full / std::pow(stretch(), 1.5);
}

bool Thermal::update(std::uint64_t busy_ns)
{
    double seconds = seconds_since_last(board_);
    double busy = seconds > 0 ? static_cast<double>(busy_ns) / 1e9 / seconds : 0;
    double watts = profile_.idle_mw / 1000.0 +
                   std::min(busy, static_cast<double>(profile_.engines)) * engine_watts();
    double temp = advance(profile_, board_, watts, seconds);
    auto temp_mc = static_cast<std::int32_t>(std::lround(temp * 1000));

    bool was = board_.throttled;
    bool now = was ? temp_mc > profile_.throttle_mc - profile_.hysteresis_mc
                   : temp_mc >= profile_.throttle_mc;
    board_.throttled = now;
    board_.energy_uj = board_.energy_uj + watts * seconds * 1e6;
    board_.power_mw = static_cast<std::uint32_t>(std::lround(watts * 1000));
    board_.clock_mhz = now ? profile_.clock_throttled_mhz : profile_.clock_mhz;

    bar_.set(&npu_regs::temp_mc, temp_mc);
    bar_.set(&npu_regs::power_mw, board_.power_mw.load());
    bar_.set(&npu_regs::clock_mhz, board_.clock_mhz.load());
    bar_.set(&npu_regs::energy_uj, static_cast<__u64>(board_.energy_uj.load()));
    bar_.set(&npu_regs::ecc_errors, board_.ecc_errors.load());
    bar_.set(&npu_regs::throttled, __u32{now});
    return was != now;
}

} // namespace ai0::npu

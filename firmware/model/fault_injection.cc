// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands of the control socket: faults on demand, temperatures, and what
 * the device is doing.
 */
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>

#include "slot.h"

namespace ai0::npu {

namespace {

const char* state_name(std::uint32_t state)
{
    static constexpr const char* kNames[] = {"off",     "rom",         "booting",
                                             "running", "boot-failed", "crashed"};
    return state < std::size(kNames) ? kNames[state] : "unknown";
}

template <typename T> std::optional<T> parse(std::string_view text, T least, T most)
{
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
        !(value <= most))
        return std::nullopt;
    return value;
}

constexpr char kCommands[] =
    "hang-next, hang-hard, hang-engine, hang-compile N, crash, wedge, ecc, ecc-corrected, "
    "temp C, ambient C, slow N, kill, kill-stay, repair, boot-fail N, corrupt-completion, "
    "fault-next, state";

} // namespace

std::string Slot::arm(Hang hang)
{
    board_->hang_next = hang;
    return "ok the next job hangs";
}

std::string Slot::to_silicon(SlotMessage kind)
{
    if (!ready_ || !send(kind))
        return "error the silicon has no power; power-cycle it first";
    return "ok";
}

std::string Slot::state_line() const
{
    const Board& board = *board_;
    char text[1024];

    std::snprintf(text, sizeof(text),
                  "ok {\"state\":\"%s\",\"pid\":%d,\"power_on_count\":%u,\"broken\":%s,"
                  "\"temperature_c\":%.3f,\"ambient_c\":%.3f,\"power_w\":%.3f,\"energy_j\":%.3f,"
                  "\"clock_mhz\":%u,\"throttled\":%s,\"slow\":%u,\"ecc_errors\":%u,"
                  "\"jobs\":{\"queued\":%u,\"running\":%u,\"done\":%llu},"
                  "\"models\":%u,\"compiling\":%u,\"maps\":%u,\"map_segments\":%u,"
                  "\"cached_models\":%u,\"cached_bytes\":%llu}",
                  state_name(board.state), static_cast<int>(silicon_), power_on_count_,
                  broken_ ? "true" : "false", board.temp_c.load(), board.ambient_mc / 1000.0,
                  board.power_mw / 1000.0, board.energy_uj / 1e6, board.clock_mhz.load(),
                  board.throttled ? "true" : "false", board.slow.load(), board.ecc_errors.load(),
                  board.jobs_queued.load(), board.jobs_running.load(),
                  static_cast<unsigned long long>(board.jobs_done), board.models.load(),
                  board.compiling.load(), board.maps.load(), board.map_segments.load(),
                  board.cache_entries.load(), static_cast<unsigned long long>(board.cache_bytes));
    return text;
}

std::string Slot::command(std::string_view line)
{
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.remove_suffix(1);
    std::size_t space = line.find(' ');
    std::string_view verb = line.substr(0, space);
    std::string_view argument =
        space == std::string_view::npos ? std::string_view() : line.substr(space + 1);

    if (verb == "state")
        return state_line();
    if (verb == "hang-next")
        return arm(Hang::kUntilAbort);
    if (verb == "hang-hard")
        return arm(Hang::kUntilEngineReset);
    if (verb == "hang-engine")
        return arm(Hang::kUntilSilicon);
    if (verb == "hang-compile") {
        std::optional<std::uint32_t> nth =
            argument.empty() ? 1 : parse<std::uint32_t>(argument, 1, 10000);
        if (!nth)
            return "error hang-compile needs a number from 1 to 10000, or nothing";
        board_->hang_compile = *nth;
        return "ok one compilation will hang";
    }
    if (verb == "crash")
        return to_silicon(SlotMessage::kCrash);
    if (verb == "wedge")
        return to_silicon(SlotMessage::kWedge);
    if (verb == "ecc-corrected")
        return to_silicon(SlotMessage::kEccCorrected);
    if (verb == "ecc" || verb == "fault-next" || verb == "corrupt-completion") {
        (verb == "ecc"          ? board_->ecc_next
         : verb == "fault-next" ? board_->fault_next
                                : board_->corrupt_completion) = true;
        return "ok";
    }
    if (verb == "temp" || verb == "ambient") {
        std::optional<double> celsius = parse<double>(argument, -55, 200);
        if (!celsius)
            return "error " + std::string(verb) + " needs a temperature from -55 to 200";
        auto mc = static_cast<std::int32_t>(std::lround(*celsius * 1000));
        (verb == "temp" ? board_->set_temp_mc : board_->ambient_mc) = mc;
        if (ready_)
            send(SlotMessage::kSensors);
        return "ok";
    }
    if (verb == "slow") {
        std::optional<std::uint32_t> times = parse<std::uint32_t>(argument, 1, 10000);
        if (!times)
            return "error slow needs a factor from 1 to 10000";
        board_->slow = *times;
        return "ok";
    }
    if (verb == "boot-fail") {
        std::optional<std::uint32_t> error =
            parse<std::uint32_t>(argument, NPU_BOOT_SIZE, NPU_BOOT_HANDSHAKE);
        if (!error)
            return "error boot-fail needs a number from 1 to 10, see enum npu_boot_error";
        board_->boot_fail = *error;
        return "ok the next boot fails";
    }
    if (verb == "kill" || verb == "kill-stay") {
        broken_ = broken_ || verb == "kill-stay";
        if (silicon_ > 0) {
            kill_silicon();
            silicon_died();
        }
        return "ok";
    }
    if (verb == "repair") {
        broken_ = false;
        return "ok power-cycle it to use it";
    }
    return "error '" + std::string(verb.substr(0, 64)) + "' is not known, needed is one of " +
           kCommands;
}

} // namespace ai0::npu

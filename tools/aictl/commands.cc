/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <algorithm>
#include <array>

namespace aictl {

namespace {

constexpr std::size_t kAny = 1000;

constexpr std::array kCommands{
    Command{"devices", "[DEVICE]...", "devices: health, temperature, power, work and memory", kAny,
            run_devices},
    Command{"contracts", "[--names] [NAME|NUMBER]...",
            "contracts: figures in a table, or all that is known of those named", kAny,
            run_contracts},
    Command{"events", "[--follow] [--since NUMBER] [NAME|NUMBER]...",
            "what happened to contracts, and with --follow what happens", kAny, run_events},
    Command{"dump", "[DEVICE] [--job NUMBER] [--output FILE] | show FILE",
            "all that is known of a device now, or of a failure from a file", 2, run_dump},
    Command{"fuse", "[reset NAME]", "fuses of contracts; closes those of a name", 2, run_fuse},
    Command{"gpt", "", "the global page table, for root", 0, run_gpt},
    Command{"models", "", "models on all devices, for root", 0, run_models},
};

} // namespace

std::span<const Command> all_commands()
{
    return kCommands;
}

const Command* find_command(std::string_view name)
{
    const auto* found =
        std::ranges::find_if(kCommands, [&](const Command& each) { return each.name == name; });

    return found == kCommands.end() ? nullptr : found;
}

void print_json(std::ostream& out, const Json& json)
{
    /* What drivers and applications call things need not be UTF-8. */
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

void print_json_line(std::ostream& out, const Json& json)
{
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

} // namespace aictl

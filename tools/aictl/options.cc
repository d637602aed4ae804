/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include <getopt.h>

#include "commands.h"
#include "read_options.h"

namespace aictl {

namespace {

enum : int { kHelp = 1, kVersion, kJson, kNoHeader, kNames, kFollow, kSince, kJob, kOutput };

constexpr std::array<option, 10> kLong{{
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {"json", no_argument, nullptr, kJson},
    {"no-header", no_argument, nullptr, kNoHeader},
    {"names", no_argument, nullptr, kNames},
    {"follow", no_argument, nullptr, kFollow},
    {"since", required_argument, nullptr, kSince},
    {"job", required_argument, nullptr, kJob},
    {"output", required_argument, nullptr, kOutput},
    {nullptr, 0, nullptr, 0},
}};

ai::Result<void> number(const std::string& name, const std::string& value, const char* what,
                        std::uint64_t& to)
{
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);

    if (error == std::errc() && end == value.data() + value.size())
        return {};
    return ai::Error{EINVAL, name + " is '" + value + "', the number of " + what + " is needed"};
}

ai::Result<void> take(Options& options, int code, const std::string& value)
{
    switch (code) {
    case kHelp:
    case 'h':
        options.help = true;
        return {};
    case kVersion:
    case 'V':
        options.version = true;
        return {};
    case kJson:
    case 'j':
        options.json = true;
        return {};
    case kNoHeader:
        options.header = false;
        return {};
    case kNames:
        options.names = true;
        return {};
    case kFollow:
    case 'f':
        options.follow = true;
        return {};
    case kOutput:
    case 'o':
        options.output = value;
        return {};
    case kJob:
        return number("--job", value, "a job", options.job);
    default:
        return number("--since", value, "an event", options.since);
    }
}

ai::Result<void> check(const Options& options)
{
    if (options.version || (options.help && options.command.empty()))
        return {};
    if (options.command.empty())
        return ai::Error{EINVAL, "no command is given: see --help"};

    const Command* command = find_command(options.command);
    if (!command)
        return ai::Error{EINVAL, "'" + options.command + "' is no command of aictl: see --help"};
    if (options.help)
        return {};
    if (options.arguments.size() > command->most_arguments)
        return ai::Error{EINVAL, "'" + options.arguments[command->most_arguments] +
                                     "' is too much for aictl " + options.command + ": see aictl " +
                                     options.command + " --help"};
    if (options.names && options.command != "contracts")
        return ai::Error{EINVAL, "--names is for aictl contracts"};
    if ((options.follow || options.since) && options.command != "events")
        return ai::Error{EINVAL, "--follow and --since are for aictl events"};
    if ((options.job || !options.output.empty()) &&
        (options.command != "dump" || is_dump_file(options)))
        return ai::Error{EINVAL, "--job and --output are for aictl dump of a device"};
    if (options.command == "dump" && options.arguments.size() == 2 && !is_dump_file(options))
        return ai::Error{EINVAL, "'" + options.arguments.back() +
                                     "' is too much for aictl dump of one device: see aictl dump "
                                     "--help"};
    return {};
}

} // namespace

ai::Result<Options> parse_options(std::span<char* const> argv)
{
    Options options;
    ai::Result<std::vector<std::string>> rest = ai_tools::read_options(
        "aictl", argv, ":hVjfo:", kLong,
        [&](int code, const std::string& value) { return take(options, code, value); });

    if (!rest)
        return std::move(rest).error();
    if (!rest->empty()) {
        options.command = rest->front();
        options.arguments.assign(rest->begin() + 1, rest->end());
    }
    if (ai::Result<void> good = check(options); !good)
        return std::move(good).error();
    return options;
}

std::string usage(const std::string& command)
{
    std::string text;

    if (const Command* one = find_command(command)) {
        text = std::string("usage: aictl ") + one->name + " " + one->synopsis + "\n" +
               one->summary + ".\n";
    } else {
        text = "usage: aictl COMMAND [OPTION]...\n"
               "Looks at devices, contracts, memory and models of /dev/ai0.\n\n";
        for (const Command& each : all_commands())
            text += "  " + std::string(each.name) +
                    std::string(12 - std::string_view(each.name).size(), ' ') + each.summary + "\n";
    }
    return text + "\n"
                  "  -j, --json    print JSON; field names carry their unit\n"
                  "  --no-header   tables without the line of names\n"
                  "  -h, --help    say this; after a command, say what it takes\n"
                  "  -V, --version say which version this is\n\n"
                  "Exit status: 0 done, 1 refused or not there, 2 wrong usage, 3 no /dev/ai0 or\n"
                  "no permission to open it.\n";
}

} // namespace aictl

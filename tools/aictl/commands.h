/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of aictl. */
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ai/ai.h>

#include "options.h"

namespace aictl {

using Json = nlohmann::ordered_json;

enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2, kNoDevice = 3 };

/* What a command works with. */
struct Context {
    const ai::Session& session;
    const Options& options;
    std::ostream& out;
};

/* The error is printed, with exit status 1, or 2 for EINVAL. */
using Run = ai::Result<void> (*)(const Context& context);

struct Command {
    const char* name;
    const char* synopsis; /* behind the name */
    const char* summary;
    std::size_t most_arguments;
    Run run;
};

/* Whether the options ask for what is in a file: then there need be no /dev/ai0. */
bool is_dump_file(const Options& options);
ai::Result<void> show_dump_file(const Options& options, std::ostream& out);

std::span<const Command> all_commands();
/* Null if there is none of that name. */
const Command* find_command(std::string_view name);

/* Indented, on a line of its own. */
void print_json(std::ostream& out, const Json& json);
/* In one line, for streams. */
void print_json_line(std::ostream& out, const Json& json);

ai::Result<void> run_devices(const Context& context);
ai::Result<void> run_contracts(const Context& context);
ai::Result<void> run_events(const Context& context);
ai::Result<void> run_dump(const Context& context);
ai::Result<void> run_fuse(const Context& context);
ai::Result<void> run_gpt(const Context& context);
ai::Result<void> run_models(const Context& context);

/* Contracts with that name or number; ENOENT, with the names there are, if none has it. */
ai::Result<std::vector<ai::ContractInfo>> chosen_contracts(const ai::Session& session,
                                                           std::span<const std::string> wanted);

} // namespace aictl

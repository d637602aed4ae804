/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a tool. */
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ai/result.h>
#include <getopt.h>

namespace ai_tools {

/*
 * Gives each option of @argv, which begins with the name of the program, to @take: its
 * code, and its value or "". @letters and @options are as for getopt_long(), and @letters
 * begins with a colon. What is no option is left, in order. EINVAL, with a sentence, for
 * what @tool does not know, or what @take says. One thread at a time.
 */
ai::Result<std::vector<std::string>>
read_options(const std::string& tool, std::span<char* const> argv, const char* letters,
             std::span<const option> options,
             const std::function<ai::Result<void>(int code, const std::string& value)>& take);

} // namespace ai_tools

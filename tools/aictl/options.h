/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of aictl. */
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ai/ai.h>

namespace aictl {

struct Options {
    std::string command;                /* empty with --help or --version alone */
    std::vector<std::string> arguments; /* behind it */
    bool help = false;
    bool version = false;
    bool json = false;
    bool header = true;
    bool names = false;      /* of contracts, for completion */
    bool follow = false;     /* events as they come */
    std::uint64_t since = 0; /* events after that number */
    std::uint64_t job = 0;   /* whose tensors are of interest */
    std::string output;      /* file for a dump */
};

/* EINVAL: what is wrong with the command line. */
ai::Result<Options> parse_options(std::span<char* const> argv);

/* For all commands, or for one. */
std::string usage(const std::string& command = "");

} // namespace aictl

/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ai/result.h>
#include <ai/shape.h>
#include <ai/types.h>

namespace ai_run {

/* NAME=VALUE, INDEX=VALUE, or a VALUE for the next one in order. */
struct Assignment {
    std::string text;
};

enum class Fill { kNone, kZeros, kRandom };

struct Options {
    bool help = false;
    bool version = false;
    bool list = false;
    bool json = false;
    bool cases = false;
    std::string device = "any";
    unsigned repeat = 1;
    ai::Nanoseconds timeout{0};
    Fill fill = Fill::kNone;
    std::uint64_t seed = 0;
    std::vector<Assignment> inputs; /* .pb and .npy */
    std::vector<Assignment> raws;   /* FILE:DTYPE:SHAPE */
    std::vector<Assignment> shapes; /* for inputs that are filled */
    std::vector<Assignment> outputs;
    std::vector<std::string> arguments; /* the model, or folders of cases */
};

/* EINVAL with a sentence for what is no command line of ai-run. */
ai::Result<Options> parse_options(std::span<char* const> argv);

/* "1,3,224,224", or nothing for a scalar. */
ai::Result<ai::Shape> parse_shape(const std::string& text);

/* "250ms", "2s", "1.5s", "100us"; a number alone is seconds. */
ai::Result<ai::Nanoseconds> parse_duration(const std::string& text);

std::string usage();

} // namespace ai_run

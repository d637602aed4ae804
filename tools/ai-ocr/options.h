/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ai/result.h>
#include <ai/types.h>

namespace ai_ocr {

struct Options {
    bool help = false;
    bool version = false;
    bool json = false;
    bool reference = false;
    std::string models;
    std::string device = "any";
    std::string out;
    std::string font;
    float least_confidence = 0.5F;
    ai::Nanoseconds timeout{0};
    std::vector<std::string> pictures;
};

/* EINVAL with a sentence for what is no command line of ai-ocr. */
ai::Result<Options> parse_options(std::span<char* const> argv);

std::string usage();

} // namespace ai_ocr

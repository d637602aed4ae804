/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AI0_TOOLS_UNKNOWN_OPTION_H
#define AI0_TOOLS_UNKNOWN_OPTION_H

#include <span>
#include <string>

#include <ai/error.h>
#include <getopt.h>

namespace ai_tools {

/**
 * What is wrong with a word of which getopt_long() made '?'. It leaves that open, but
 * for what it puts into optopt, which this reads.
 *
 * @param tool name of the program, for the sentence
 * @param options those that getopt_long() was given; the last one may be the empty one
 * @param word the word
 */
ai::Error unknown_option(const std::string& tool, std::span<const option> options,
                         const std::string& word);

} // namespace ai_tools

#endif

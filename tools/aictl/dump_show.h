/* SPDX-License-Identifier: Apache-2.0 */
/* A dump in JSON, and for people. */
#pragma once

#include <ostream>

#include "commands.h"
#include "dump_reader.h"

namespace aictl {

/* An object: what the header says, and a member a section that this program knows. */
Json dump_json(const Dump& dump);

/* The same as text: a heading a section, with its members or a table below. */
void show_dump(std::ostream& out, const Json& dump);

} // namespace aictl

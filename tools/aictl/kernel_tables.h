/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <istream>

#include "commands.h"

namespace aictl {

/* A table of words under a line of names, as objects; the last column may have blanks. */
Json table_json(std::istream& in);

} // namespace aictl

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in columns, for people and for awk: no cell is empty, blanks are in the last only. */
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace aictl {

class Table {
public:
    explicit Table(std::vector<std::string> names);

    /* As many cells as there are columns; an empty one becomes "-". */
    void add(std::vector<std::string> cells);
    void print(std::ostream& out, bool header) const;

private:
    std::vector<std::vector<std::string>> rows_;
};

/* What cannot be printed on a terminal without harm becomes '?'. */
std::string printable(std::string text);

} // namespace aictl

/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in columns, for people and for awk: no cell is empty, blanks are in the last only. */
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <ai/terms.h>

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

/* A quantity without the blank of the library's, so that a cell is a word. */
template <typename T> std::string word(T quantity)
{
    std::string text = ai::to_string(quantity);

    std::erase(text, ' ');
    return text;
}

/* What cannot be printed on a terminal without harm becomes '?'. */
std::string printable(std::string text);

} // namespace aictl

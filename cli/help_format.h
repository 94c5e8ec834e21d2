// How --help looks: CLI11's layout, with descriptions broken into lines that fit the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace dfsim::cli {

// For the app, before its subcommands are added: they inherit it.
std::shared_ptr<CLI::Formatter> make_help_formatter();

}  // namespace dfsim::cli

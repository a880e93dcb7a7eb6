#include "compiler/frontend/onnx/order.hpp"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "compiler/frontend/onnx/importer.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;

constexpr int deepest_nesting = 32;

void collect_names(const proto::NodeProto& node, int depth, std::vector<std::string>& names) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) {
      names.push_back(name);
    }
  }
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) {
      continue;
    }
    if (depth >= deepest_nesting) {
      throw Error(describe(node), "bodies are nested too deeply", "the file is damaged");
    }
    for (const auto& inner : attribute.g().node()) {
      collect_names(inner, depth + 1, names);
    }
    for (const auto& output : attribute.g().output()) {
      names.push_back(output.name());
    }
  }
}

std::unordered_map<std::string, int> producers(const Nodes& nodes) {
  std::unordered_map<std::string, int> out;
  out.reserve(static_cast<std::size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (!name.empty() && !out.emplace(name, i).second) {
        throw Error(describe(nodes[i]), fmt::format("value '{}' is produced twice", name),
                    "every value needs one producer");
      }
    }
  }
  return out;
}

}  // namespace

Order order_nodes(const Nodes& nodes, const std::vector<std::string>& outputs) {
  const auto producer = producers(nodes);
  const auto size = static_cast<std::size_t>(nodes.size());
  std::vector<std::vector<int>> consumers(size);
  std::vector<int> waiting(size, 0);
  std::vector<bool> needed(size, false);
  std::unordered_set<std::string> seen_external;
  Order order;
  std::vector<int> stack;
  const auto need = [&](const std::string& name, int consumer) {
    const auto found = producer.find(name);
    if (found == producer.end()) {
      if (seen_external.insert(name).second) {
        order.external.push_back(name);
      }
      return;
    }
    const auto source = static_cast<std::size_t>(found->second);
    if (consumer >= 0) {
      consumers[source].push_back(consumer);
      ++waiting[static_cast<std::size_t>(consumer)];
    }
    if (!needed[source]) {
      needed[source] = true;
      stack.push_back(found->second);
    }
  };
  for (const std::string& name : outputs) {
    need(name, -1);
  }
  std::size_t total = 0;
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    ++total;
    std::vector<std::string> names;
    collect_names(nodes[node], 0, names);
    for (const std::string& name : names) {
      need(name, node);
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (needed[static_cast<std::size_t>(i)] && waiting[static_cast<std::size_t>(i)] == 0) {
      ready.push(i);
    }
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.nodes.push_back(node);
    needed[static_cast<std::size_t>(node)] = false;
    for (const int consumer : consumers[static_cast<std::size_t>(node)]) {
      if (--waiting[static_cast<std::size_t>(consumer)] == 0) {
        ready.push(consumer);
      }
    }
  }
  for (int i = 0; order.nodes.size() < total && i < nodes.size(); ++i) {
    if (needed[static_cast<std::size_t>(i)]) {
      throw Error(describe(nodes[i]), "the node depends on its own output (a cycle)",
                  "the file is damaged");
    }
  }
  return order;
}

}  // namespace systole::frontend

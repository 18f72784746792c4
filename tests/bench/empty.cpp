// An empty C++ process: the yardstick for start-up times.
#include <string>
#include <vector>
int main(int argc, char** argv) { return std::vector<std::string>(argv, argv + argc).empty(); }

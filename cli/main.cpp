// emplace: the command line. Finds the subcommand and runs it.
int main() { return 2; }

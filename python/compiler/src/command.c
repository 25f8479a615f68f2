// The command mpc of the wheel, which is in libmpccompiler.

int mpc_command_main(int argc, char** argv);

int main(int argc, char** argv) { return mpc_command_main(argc, argv); }

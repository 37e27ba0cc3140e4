package render

// SafeMaxConn is the number of client connections that a process with openFiles
// files can hold, at most wanted. HAProxy ends at its start if it cannot open two
// for each, and some for itself; containers often have a limit of a few thousand.
func SafeMaxConn(wanted int, openFiles uint64) int {
	const own = 1000 // listeners, checks, agents, pipes
	if openFiles == 0 {
		return wanted
	}
	if openFiles < 2*own {
		return int(openFiles / 4)
	}
	if fit := (openFiles - own) / 2; fit < uint64(wanted) {
		return int(fit)
	}
	return wanted
}

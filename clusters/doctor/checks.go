package doctor

import "time"

// Checks are all the checks of this machine, in the order in which one builds
// on another. image is the node image whose registry is tried.
func Checks(image string) []Check {
	m := thisMachine()
	checks := []Check{m.goCheck()}
	checks = append(checks, m.programChecks()...)
	checks = append(checks, m.inotifyCheck(), m.cgroupCheck())
	checks = append(checks, m.kernelChecks()...)
	return append(checks, m.engineCheck(), m.privilegedCheck(), m.memoryCheck(), m.diskCheck(), m.clockCheck(time.Now), registryCheck(image))
}

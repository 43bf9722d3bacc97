// Package deploy has no code of its own. Its tests hold the files beside it, which deploy the two
// programs, to the programs: the rules to what clients may do, and every setting, port and name in
// a manifest to what the programs read.
package deploy

// Package images provides the container images of the lab: node images for
// kind, found, pulled or assembled from Debian packages and Go modules without
// any registry, and the images of our own programs.
package images

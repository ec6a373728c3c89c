//! What the surface of a mask is.

super::named! {
    /// The elements that make the surface of a mask, and what a distance is measured to.
    ///
    /// | kind | element | weight | tools |
    /// |---|---|---|---|
    /// | `Voxels` | mask voxel with a face neighbour outside the mask or the image | 1 | MONAI, MedPy, MetricsReloaded, Panoptica |
    /// | `Surfels` | voxel corner whose 2x2(x2) block is mixed | marching-cubes area of the block | DeepMind, MONAI `use_subvoxels` |
    /// | `Mesh` | segment or triangle of the discrete contour | length or area | VTK; MeshMetrics v0.1.0 in 3-D |
    /// | `Faces` | half of a voxel's face, or side of a pixel, between inside and outside | area or length | MeshMetrics 0.2 in 3-D |
    ///
    /// Of voxels and surfels a distance is measured to the nearest other element; of a mesh and of faces, from the centre of an element
    /// to the nearest point of the other surface.
    SurfaceKind, "surface", {
        /// Boundary voxels.
        Voxels = "voxels",
        /// Mixed voxel corners, weighted by the surface they carry.
        Surfels = "surfels",
        /// Elements of the discrete marching-cubes mesh.
        Mesh = "mesh",
        /// The faces between voxels inside and outside, each cut in two triangles.
        Faces = "faces",
    }
}

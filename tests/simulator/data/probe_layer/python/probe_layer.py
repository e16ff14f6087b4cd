LAYER = "from the layer"

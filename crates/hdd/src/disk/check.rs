//! Checks of a complete config: whether a disk can be built from it.

use super::config::DiskConfig;
use super::error::{DiskConfigError, at_least, at_most, wrong};
use super::mechanics::Mechanics;
use gordon_units::Bytes;

impl DiskConfig {
    /// Parses a config from TOML and checks it.
    ///
    /// # Errors
    /// Returns an error if the text is not a disk config, or if no disk can be built from it.
    pub fn from_toml(text: &str) -> Result<Self, DiskConfigError> {
        let config: Self = toml::from_str(text)
            .map_err(|e| DiskConfigError::Parse(e.to_string().trim().into()))?;
        config.validate()?;
        Ok(config)
    }

    /// Checks that a disk can be built from the config.
    ///
    /// # Errors
    /// Returns the first inconsistency found.
    pub fn validate(&self) -> Result<(), DiskConfigError> {
        self.check().map(drop)
    }

    /// Checks the config, and returns the mechanics that the check has to compute.
    pub(crate) fn check(&self) -> Result<Mechanics, DiskConfigError> {
        let mechanics = Mechanics::new(self)?;
        let (link, cache, power) = (&self.interface, &self.cache, &self.power);
        let sector = gordon_blockio::SECTOR;

        at_least("interface.rate_per_s", *link.rate_per_s, Bytes(1))?;
        at_least("interface.queue_depth", *link.queue_depth, 1)?;
        at_least("cache.write_limit", *cache.write_limit, sector)?;
        at_least("cache.write_extents", *cache.write_extents, 1)?;
        at_least("cache.segments", *cache.segments, 1)?;
        at_least("cache.destage", *cache.destage, sector)?;
        let segment = cache.size.saturating_sub(*cache.write_limit) / u64::from(*cache.segments);
        at_least("what cache.size leaves for each segment", segment, sector)?;
        at_most("cache.read_ahead", *cache.read_ahead, segment)?;
        let price = self.price.as_ref().map_or(0.0, |price| **price);
        let carbon = self.embodied_kg.as_ref().map_or(0.0, |carbon| **carbon);
        at_least("price", price, 0.0)?;
        at_least("embodied_kg", carbon, 0.0)?;
        if let Some(years) = self.rated_life_years.as_ref().map(|years| **years)
            && years <= 0.0
        {
            return Err(wrong("rated_life_years", years, "above 0".into()));
        }
        power.check()?;
        self.scheduler.check()?;
        Ok(mechanics)
    }
}

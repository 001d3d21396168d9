<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The configuration of an OCI image. Commands of a sandbox begin with its user, its folder and its variables. */
final class TemplateImageConfig
{
    /**
     * @param string $name As the build named it.
     * @param string $digest Of the manifest that was fetched.
     * @param list<string> $entrypoint
     * @param list<string> $command
     * @param string $user Empty: commands run as `user`, who was added.
     * @param string $workdir Empty: commands begin in the user's home.
     * @param array<string, string> $envs
     * @param list<string> $exposedPorts
     * @param list<string> $healthCheck
     */
    public function __construct(
        public readonly string $name,
        public readonly string $digest,
        public readonly string $platform,
        public readonly array $entrypoint,
        public readonly array $command,
        public readonly string $user,
        public readonly string $workdir,
        public readonly array $envs,
        public readonly array $exposedPorts,
        public readonly string $stopSignal,
        public readonly array $healthCheck,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            digest: $fields->string('digest'),
            platform: $fields->string('platform'),
            entrypoint: $fields->strings('entrypoint'),
            command: $fields->strings('command'),
            user: $fields->string('user'),
            workdir: $fields->string('workdir'),
            envs: $fields->map('envs'),
            exposedPorts: $fields->strings('exposed_ports'),
            stopSignal: $fields->string('stop_signal'),
            healthCheck: $fields->strings('health_check'),
        );
    }
}

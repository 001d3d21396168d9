<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateSandbox implements \JsonSerializable
{
    /**
     * @param string|null $team Slug of the team; default: the personal team of the key's user, or else the only one
     *   that the key reaches.
     * @param string|null $template `<slug>` for the newest runnable version, `<slug>:<version, tpv_ id or tag>` for
     *   one build; `<team>/<slug>` for a public template of another team, or to leave no doubt. The tags `latest` and
     *   `default` are the newest runnable version until they are assigned; only clients of E2B assign `latest`. The id
     *   or name of a checkpoint is accepted too.
     * @param string|null $templateId Another way to name the template: `tpl_` or `tpv_` id.
     * @param string|null $snapshotId A checkpoint to start from: its id, or `[team/]name[:version]`; without a
     *   version the newest of the name.
     * @param int|null $timeout Seconds; the plan sets the maximum. Default: 300.
     * @param bool|null $autoPause Short for `lifecycle.on_timeout` = `pause`.
     * @param array<string, mixed>|null $metadata Values that are not strings are stored as their JSON text; numbers
     *   keep the text that you send: 19.99 becomes "19.99".
     * @param array<string, string>|null $envs Environment variables, 64 KiB in all; encrypted at rest and never
     *   returned.
     * @param list<ServiceRequest>|null $services Commands that run as long as the sandbox does, 64 KiB as JSON in
     *   all. Each replaces a service of the template or checkpoint with the same name; without this field those stay
     *   as they are. The sandbox keeps them on its disk, readable by root alone, so checkpoints and forks have them
     *   too.
     * @param array<string, string>|null $volumeMounts Absolute guest path to volume name.
     * @param bool|null $allowInternetAccess The decision where no entry matches. Default: by the deployment's
     *   network class.
     * @param bool|null $ask Ask the owner where no entry matches: the destination is refused until you answer the
     *   approval that stands for it. Not together with allow_internet_access. Default: false.
     * @param bool|null $allowPackageRegistryAccess Include the egress profile package-registries. Default: by the
     *   deployment's network class.
     * @param bool|null $allowPublicTraffic Whether previews of public ports are open to everyone. Default: true.
     * @param list<string>|null $allowOut Destinations that the sandbox can reach. A host name (api.example.com),
     *   names below one (*.example.com), or an IPv4 or IPv6 address or network. For one port only, append :port
     *   ([v6]:port for IPv6).
     * @param list<string>|null $denyOut Destinations that the sandbox cannot reach. The most specific entry decides:
     *   a name before a wildcard before an address before a network, longer before shorter, with a port before
     *   without. On a tie, the deny decides.
     * @param string|null $egressProfile One egress profile of the operator, as in egress_profiles.
     * @param list<string>|null $egressProfiles Egress profiles of the operator whose entries are allowed.
     * @param list<EgressRule>|null $rules Rules for requests to single hosts over HTTPS. A host with rules is
     *   reached through them only. Of the rules of one host, the first with the method and the path decides.
     * @param string|null $name A name for people and commands, of no other sandbox of the team: letters, digits,
     *   `.`, `_` and `-`, beginning with a letter or a digit. It is free again when the sandbox is deleted. `new`,
     *   `new-keep` and `keep` have a meaning of their own over SSH. Default null: none.
     * @param bool|null $exposeAllPorts Expose every port but 22, 49983 and 49984 to everybody, besides those of
     *   exposed_ports, whose own `public` holds. Default: false.
     * @param string|null $maskRequestHost What servers in the sandbox see as Host instead of their preview's name: a
     *   host name, with or without a port, in which `${PORT}` stands for the port that is asked.
     * @param mixed $exposedPorts Ports by number, no more than the deployment's `sandbox_ports_max`, or `all`: every
     *   port but 22, 49983 and 49984, as with expose_all_ports.
     * @param list<int>|null $httpsPorts Exposed ports whose servers speak TLS: the same as their `protocol` = https.
     * @param int|null $cpu vCPUs instead of the template's; see `cpu_values` of the limits.
     * @param int|null $memoryMb MiB instead of the template's.
     */
    public function __construct(
        public readonly ?string $team = null,
        public readonly ?string $template = null,
        public readonly ?string $templateId = null,
        public readonly ?string $snapshotId = null,
        public readonly ?int $timeout = null,
        public readonly ?LifecycleRequest $lifecycle = null,
        public readonly ?bool $autoPause = null,
        public readonly ?array $metadata = null,
        public readonly ?array $envs = null,
        public readonly ?array $services = null,
        public readonly ?Hooks $hooks = null,
        public readonly ?array $volumeMounts = null,
        public readonly ?bool $allowInternetAccess = null,
        public readonly ?bool $ask = null,
        public readonly ?bool $allowPackageRegistryAccess = null,
        public readonly ?bool $allowPublicTraffic = null,
        public readonly ?array $allowOut = null,
        public readonly ?array $denyOut = null,
        public readonly ?string $egressProfile = null,
        public readonly ?array $egressProfiles = null,
        public readonly ?array $rules = null,
        public readonly ?string $name = null,
        public readonly ?bool $exposeAllPorts = null,
        public readonly ?string $maskRequestHost = null,
        public readonly mixed $exposedPorts = null,
        public readonly ?array $httpsPorts = null,
        public readonly ?int $cpu = null,
        public readonly ?int $memoryMb = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'team' => $this->team,
            'template' => $this->template,
            'template_id' => $this->templateId,
            'snapshot_id' => $this->snapshotId,
            'timeout' => $this->timeout,
            'lifecycle' => $this->lifecycle,
            'auto_pause' => $this->autoPause,
            'metadata' => Members::map($this->metadata),
            'envs' => Members::map($this->envs),
            'services' => $this->services,
            'hooks' => $this->hooks,
            'volume_mounts' => Members::map($this->volumeMounts),
            'allow_internet_access' => $this->allowInternetAccess,
            'ask' => $this->ask,
            'allow_package_registry_access' => $this->allowPackageRegistryAccess,
            'allow_public_traffic' => $this->allowPublicTraffic,
            'allow_out' => $this->allowOut,
            'deny_out' => $this->denyOut,
            'egress_profile' => $this->egressProfile,
            'egress_profiles' => $this->egressProfiles,
            'rules' => $this->rules,
            'name' => $this->name,
            'expose_all_ports' => $this->exposeAllPorts,
            'mask_request_host' => $this->maskRequestHost,
            'exposed_ports' => $this->exposedPorts,
            'https_ports' => $this->httpsPorts,
            'cpu' => $this->cpu,
            'memory_mb' => $this->memoryMb,
        ]);
    }
}

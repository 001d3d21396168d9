<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Http\DataPlanes;
use Sandlot\Model\CreateSandbox;
use Sandlot\Model\EgressProxy;
use Sandlot\Model\EgressRule;
use Sandlot\Model\Explicit;
use Sandlot\Model\ExposedPortRequest;
use Sandlot\Model\Fields;
use Sandlot\Model\Hooks;
use Sandlot\Model\LifecycleRequest;
use Sandlot\Model\Operation;
use Sandlot\Model\SandboxState;
use Sandlot\Model\ServiceRequest;
use Sandlot\Model\Session;
use Sandlot\Model\StateFilter;

/** The sandboxes that the key reaches. */
final class Sandboxes
{
    /** @internal */
    public function __construct(private readonly Api $api, private readonly DataPlanes $planes)
    {
    }

    /**
     * Creates a sandbox, and returns it when it runs. Without an argument, the service uses its default.
     *
     * @param string|null $team slug; default: the personal team of the key's user, or the key's only team
     * @param string|null $template [team/]slug[:version or tag], or the id of a checkpoint
     * @param string|null $templateId tpl_… or tpv_…
     * @param string|null $snapshotId a checkpoint to start from
     * @param int|null $timeout seconds until the deadline; then sandlot deletes it, or pauses it ($lifecycle)
     * @param bool|null $autoPause true: sandlot pauses it at the deadline (short for a $lifecycle)
     * @param array<string, mixed>|null $metadata your own names and values, for list(); stored as text
     * @param array<string, string>|null $envs environment variables; no call returns them
     * @param array<string, string>|null $volumeMounts absolute path in the sandbox to the volume's name
     * @param list<string>|null $allowOut hosts and networks that it may reach, see Network\Policy
     * @param list<string>|null $denyOut hosts and networks that it may not reach
     * @param list<string>|null $egressProfiles names of the operator's lists of hosts
     * @param list<EgressRule>|null $rules the requests that it may send to single hosts, and their headers
     * @param EgressProxy|Explicit|null $egressProxy the proxy for all its TCP connections
     * @param list<ExposedPortRequest>|'all'|null $exposedPorts
     * @param list<int>|null $httpsPorts ports whose servers speak TLS
     * @param string|null $maskRequestHost the Host header for its servers, instead of the preview's name
     * @param int|null $cpu vCPUs
     * @param int|null $memoryMb MiB
     * @param string|null $name unique in the team
     * @param list<ServiceRequest>|null $services commands that run as long as the sandbox
     * @param Hooks|null $hooks commands before a pause, after a resume and in a fork
     * @param string|null $idempotencyKey all calls with the same key create one sandbox, also in other programs; for
     *                                    example the id of a job
     */
    public function create(
        ?string $team = null,
        ?string $template = null,
        ?string $templateId = null,
        ?string $snapshotId = null,
        ?int $timeout = null,
        ?LifecycleRequest $lifecycle = null,
        ?bool $autoPause = null,
        ?array $metadata = null,
        #[\SensitiveParameter] ?array $envs = null,
        ?array $volumeMounts = null,
        ?bool $allowInternetAccess = null,
        ?bool $allowPackageRegistryAccess = null,
        ?bool $allowPublicTraffic = null,
        ?array $allowOut = null,
        ?array $denyOut = null,
        ?string $egressProfile = null,
        ?array $egressProfiles = null,
        ?array $rules = null,
        EgressProxy|Explicit|null $egressProxy = null,
        ?bool $ask = null,
        array|string|null $exposedPorts = null,
        ?array $httpsPorts = null,
        ?string $maskRequestHost = null,
        ?int $cpu = null,
        ?int $memoryMb = null,
        ?bool $exposeAllPorts = null,
        ?string $name = null,
        #[\SensitiveParameter] ?array $services = null,
        ?Hooks $hooks = null,
        ?string $idempotencyKey = null,
    ): Sandbox {
        $fields = get_defined_vars();
        unset($fields['idempotencyKey']);
        $wish = new CreateSandbox(...$fields);
        $made = $this->api->call(Operation::CreateSandbox, body: $wish, idempotencyKey: $idempotencyKey);
        return $this->sandbox($made, $made->object('session', Session::read(...)));
    }

    /** @throws Exception\Api\NotFoundException */
    public function get(string $id): Sandbox
    {
        return $this->sandbox($this->api->call(Operation::ShowSandbox, ['id' => $id]));
    }

    /** Finds the sandbox with this name, or returns null. Without $team it searches all teams of the key. */
    public function find(string $name, ?string $team = null): ?Sandbox
    {
        foreach ($this->list(team: $team, name: $name) as $sandbox) {
            return $sandbox;
        }
        return null;
    }

    /**
     * Lists the sandboxes that match, newest first. The iteration loads each page when it needs it.
     *
     * @param array<string, string> $metadata all must match; at most eight
     * @param list<StateFilter|SandboxState> $states one must match
     * @return \Generator<int, Sandbox>
     */
    public function list(
        ?string $team = null,
        array $metadata = [],
        array $states = [],
        int $pageSize = 50,
        ?string $name = null,
    ): \Generator {
        $query = ['team' => $team, 'limit' => $pageSize, 'name' => $name];
        foreach ($metadata as $key => $value) {
            $query["query[metadata][{$key}]"] = $value;
        }
        $value = static fn (StateFilter|SandboxState $state): string => $state->value;
        $query['query[state][]'] = array_map($value, $states);
        return $this->api->pages(Operation::ListSandboxes, [], $query, 'sandboxes', $this->sandbox(...));
    }

    private function sandbox(Fields $fields, ?Session $session = null): Sandbox
    {
        return new Sandbox($this->api, $this->planes, Model\Sandbox::read($fields), $session);
    }
}
